// What can be measured of a page's layout: problems as sentences, none if it is right.
() => {
    const problems = [];
    const width = document.documentElement.clientWidth;
    const say = (element) => {
        const name = element.tagName.toLowerCase();
        const classes = element.getAttribute("class");
        const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
        return `${name}${classes ? "." + classes.split(" ").join(".") : ""} "${text}"`;
    };
    // The box that an element is seen through: itself, or what scrolls or cuts it.
    const shown = (element) => {
        const style = getComputedStyle(element);
        return style.visibility === "visible" && style.clipPath === "none" && style.opacity !== "0";
    };
    const frame = (element) => {
        for (let box = element; box && box !== document.body; box = box.parentElement) {
            const style = getComputedStyle(box);
            if (style.overflowX !== "visible" && !(box instanceof SVGElement)) return box;
            if (style.position === "fixed" || style.position === "sticky") return box;
        }
        return null;
    };
    if (document.documentElement.scrollWidth > width) {
        const wide = [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility() && !frame(each) && each.getBoundingClientRect().right > width + 1);
        problems.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} px, ${wide.slice(-3).map(say)}`);
    }
    const pieces = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!node.data.trim() || element.closest("script, style, title, desc, option, textarea")) continue;
        if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (element.closest(".unseen, .skip")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = frame(element);
        for (const each of range.getClientRects()) {
            if (each.width < 2 || each.height < 2) continue;
            if (!box && (each.right > width + 1 || each.left < -1))
                problems.push(`beyond the page: ${say(element)}`);
            const drawing = element.closest("svg");
            if (drawing) {
                const edge = drawing.getBoundingClientRect();
                if (each.right > edge.right + 2 || each.left < edge.left - 2 || each.bottom > edge.bottom + 4 || each.top < edge.top - 4)
                    problems.push(`cut by its drawing: ${say(element)}`);
            }
            // Lines of text may touch: only the middle of each counts.
            const slack = each.height * 0.3;
            pieces.push({ element, box, left: each.left + 1, right: each.right - 1, top: each.top + slack, bottom: each.bottom - slack });
        }
    }
    for (const element of document.querySelectorAll("body *")) {
        const style = getComputedStyle(element);
        if (!["hidden", "clip"].includes(style.overflowX) || element instanceof SVGElement) continue;
        if (element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1 && shown(element) && !element.closest(".unseen, .skip"))
            problems.push(`cut at its side: ${say(element)}`);
    }
    pieces.sort((one, other) => one.top - other.top);
    pieces.forEach((one, index) => {
        for (let next = index + 1; next < pieces.length && pieces[next].top < one.bottom; next++) {
            const other = pieces[next];
            if (one.element === other.element || one.box !== other.box) continue;
            if (Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1)
                problems.push(`one over the other: ${say(one.element)} and ${say(other.element)}`);
        }
    });
    return [...new Set(problems)];
}
