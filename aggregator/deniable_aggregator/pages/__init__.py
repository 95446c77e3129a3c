"""Pages for people: what is popular, and how sure, in a browser.

A page shows typed answers (`answers`), said by `sentences` and drawn by `charts`: nothing is
computed or worded here a second time. Each page has a folder: its route reads the form, its view
turns answers into what the template shows, and knows neither Flask nor the store.
"""
