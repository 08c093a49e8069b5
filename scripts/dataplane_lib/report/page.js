// SPDX-License-Identifier: GPL-2.0-only
// Tables that sort, and the words of the point that is nearest to the pointer. The page is whole without.
"use strict";

const value = (row, i) => {
	const cell = row.cells[i];
	const text = cell.dataset.v ?? cell.textContent;
	return text === "" || isNaN(text) ? text : Number(text);
};

const order = (a, b) => {
	if (typeof a === typeof b)
		return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
	return typeof a === "number" ? -1 : 1;	// what has no figure comes last
};

const sort = (head, i) => {
	const table = head.closest("table"), body = table.tBodies[0];
	const up = head.getAttribute("aria-sort") !== "ascending";
	for (const other of table.querySelectorAll("th[aria-sort]"))
		other.removeAttribute("aria-sort");
	head.setAttribute("aria-sort", up ? "ascending" : "descending");
	const rows = [...body.rows].map(row => [value(row, i), row]);
	rows.sort(([a], [b]) => typeof a === typeof b && !up ? order(b, a) : order(a, b));
	body.append(...rows.map(([, row]) => row));
};

for (const table of document.querySelectorAll("table.sort")) {
	[...table.tHead.rows].at(-1).querySelectorAll("th").forEach((head, i) => {
		const button = document.createElement("button");
		button.type = "button";
		button.title = "sort";
		button.append(...head.childNodes);
		button.addEventListener("click", () => sort(head, i));
		head.append(button);
	});
}

const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

for (const svg of document.querySelectorAll("svg")) {
	const points = [...svg.querySelectorAll(".tip")];
	if (!points.length)
		continue;
	const words = new Map();
	for (const point of points) {
		const title = point.querySelector("title");
		words.set(point, title.textContent);
		title.remove();		// or the browser would show it as well
	}
	let shown = null;
	const hide = () => {
		shown?.classList.remove("on");
		shown = null;
		tip.hidden = true;
	};
	const show = point => {
		if (point === shown)
			return;
		hide();
		shown = point;
		point.classList.add("on");
		tip.textContent = words.get(point);
		tip.hidden = false;
		const at = point.getBoundingClientRect(), own = tip.getBoundingClientRect();
		const left = Math.min(at.right + 8, document.documentElement.clientWidth - own.width - 4);
		const above = at.top - own.height - 6;
		tip.style.left = `${Math.max(4, left)}px`;
		tip.style.top = `${above > 4 ? above : at.bottom + 6}px`;
	};
	const nearest = event => {
		let best = null, least = 30;
		for (const point of points) {
			const box = point.getBoundingClientRect();
			const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
			const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
			const far = Math.hypot(x, y);
			if (far < least)
				[best, least] = [point, far];
		}
		if (best)
			show(best);
		else
			hide();
	};
	svg.addEventListener("pointermove", nearest);
	svg.addEventListener("pointerdown", nearest);
	svg.addEventListener("pointerleave", hide);
	svg.addEventListener("blur", hide);
	svg.tabIndex = 0;
	svg.addEventListener("keydown", event => {
		const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
		if (event.key === "Escape")
			hide();
		if (!step)
			return;
		event.preventDefault();
		const i = shown ? points.indexOf(shown) + step : step > 0 ? 0 : -1;
		show(points.at(i % points.length));
	});
}
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
addEventListener("beforeprint", () => {
	for (const part of document.querySelectorAll("details:not(.screen)"))
		part.open = true;
});
