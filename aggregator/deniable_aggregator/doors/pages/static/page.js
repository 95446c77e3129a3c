// Pages work without this script. It sends a form as soon as one of its choices changes, shows the
// answer in place, copies texts, and shows what sliders stand at.
"use strict";
(() => {
  const root = document.documentElement;
  const samePage = (url) => url.origin === location.origin && url.pathname === location.pathname;
  let asked = 0;

  // A slider stands beside the field that is sent. One over many sizes moves in orders of size.
  const place = (slider) => {
    const field = document.getElementById(slider.dataset.of);
    const log = slider.dataset.scale === "log";
    if (log && !slider.dataset.low) {
      Object.assign(slider.dataset, { low: slider.min, high: slider.max });
      Object.assign(slider, { min: Math.log10(slider.min), max: Math.log10(slider.max) });
    }
    const value = Number(field.value.replace(/[,_]/g, ""));
    if (field.value) slider.value = log ? Math.log10(value) : value;
    slider.setAttribute("aria-valuetext", field.value);
  };
  const pull = (slider) => {
    const field = document.getElementById(slider.dataset.of);
    let value = Number(slider.value);
    if (slider.dataset.scale === "log") {
      const before = Number(field.value.replace(/[,_]/g, ""));
      value = Number((10 ** value).toPrecision(2));
      if ("whole" in slider.dataset) {
        value = Math.round(value);
        if (value === before) value += Math.sign(Number(slider.value) - Math.log10(before));
      }
      value = Math.min(Math.max(value, slider.dataset.low), slider.dataset.high);
    }
    field.value = String(value);
    slider.setAttribute("aria-valuetext", String(value));
  };

  // What a scripted page has more, or less: for the whole page, and again for each new <main>.
  const prepare = (within) => {
    for (const button of within.querySelectorAll("button.copy")) button.hidden = !navigator.clipboard;
    for (const slider of within.querySelectorAll("input[data-of]")) place(slider);
    for (const drawing of within.querySelectorAll("svg.followed")) {
      const periods = drawing.querySelectorAll("a.period");
      periods.forEach((each, number) => each.setAttribute("tabindex", number + 1 < periods.length ? -1 : 0));
    }
    const wide = matchMedia("(min-width: 44rem)").matches;
    for (const part of within.querySelectorAll("details.secondary")) part.open ||= wide;
    for (const part of within.querySelectorAll("[data-again]")) setTimeout(lookAgain, 1000 * part.dataset.again, part);
  };

  // Shows how far something is that the server works on, in the place of what was shown of it.
  const lookAgain = async (part) => {
    if (!part.isConnected) return;
    const response = await fetch(location, { credentials: "same-origin" }).catch(() => null);
    const answer = response?.ok && new DOMParser().parseFromString(await response.text(), "text/html");
    const now = answer && answer.getElementById(part.id);
    if (!now) return location.reload();
    part.replaceWith(now);
    prepare(now.parentElement);
    const heard = now.querySelector("[role=status], .finding");
    if (heard) document.getElementById("announced").textContent = heard.textContent.trim();
  };

  // Fetches a page and shows its <main>; where anything is amiss, the browser goes there instead.
  const show = async (url, remember, part = "") => {
    const number = ++asked;
    const focused = document.activeElement?.id, chosen = document.getElementById("choices")?.open;
    root.classList.add("waiting");
    try {
      const response = await fetch(url, { credentials: "same-origin" });
      const text = await response.text();
      if (number !== asked) return;
      const answer = new DOMParser().parseFromString(text, "text/html");
      const main = answer.querySelector("main");
      if (!response.ok || !main || !samePage(new URL(response.url))) throw new Error("another page");
      if (remember) history.pushState({}, "", url);
      document.querySelector("main").replaceWith(main);
      document.title = answer.title;
      prepare(main);
      const choices = document.getElementById("choices");
      if (choices) choices.open ||= chosen;
      document.getElementById(focused)?.focus({ preventScroll: true });
      if (part) document.getElementById(part)?.scrollIntoView({ block: "nearest" });
      const heard = main.querySelector(".notice.error, .notice.done") || main.querySelector(".finding, h1 + .lead") || main.querySelector("h1");
      document.getElementById("announced").textContent = heard ? heard.textContent.trim() : answer.title;
    } catch {
      if (number === asked) location.assign(url);
    } finally {
      if (number === asked) root.classList.remove("waiting");
    }
  };

  const send = (form) => {
    if (!form.reportValidity()) return;
    const url = new URL(form.getAttribute("action") || location.pathname, location);
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    url.search = new URLSearchParams(given);
    if (samePage(url) && form.closest("main")) show(url, true);
    else location.assign(url);
  };

  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form?.matches("form.controls")) send(form);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.controls")) return;
    event.preventDefault();
    send(event.target);
  });
  document.addEventListener("input", (event) => {
    if (event.target.dataset.of) pull(event.target);
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (button) {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      document.getElementById("announced").textContent = button.textContent = "Copied";
      return;
    }
    const link = event.target.closest("main a[href]");
    const plain = !event.defaultPrevented && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || link.getAttribute("target") || link.hasAttribute("download")) return;
    const url = new URL(link.getAttribute("href"), location);
    if (!samePage(url) || url.search === location.search) return;
    event.preventDefault();
    const part = url.hash.slice(1);
    url.hash = "";
    show(url, true, part);
  });
  // In the large picture of a series, arrows go from period to period.
  document.addEventListener("keydown", (event) => {
    const period = event.target.closest("a.period");
    if (!period || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...period.parentElement.querySelectorAll("a.period")];
    const at = all.indexOf(period);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (!all[to]) return;
    event.preventDefault();
    period.setAttribute("tabindex", -1);
    all[to].setAttribute("tabindex", 0);
    all[to].focus();
  });
  addEventListener("popstate", () => show(new URL(location), false));

  root.classList.add("scripted");
  prepare(document);
})();
