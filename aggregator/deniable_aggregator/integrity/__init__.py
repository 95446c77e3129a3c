"""Do these reports look like those of honest devices, and which days and keys do not?"""
