"""Pages for people: what is popular, and how sure, in a browser.

A page shows documents (`telling`) of typed answers (`answers`), which `media` draws: no number is
computed or worded here. Each page has a folder: its route reads the form, its view
turns answers into what the template shows, and knows neither Flask nor the store.
"""
