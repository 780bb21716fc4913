"use strict";

// The page fetches itself every few seconds and takes over what has changed. Without this script it is complete, too.
(function () {
  const live = document.getElementById("live");
  const lost = document.getElementById("lost");

  // morph makes have equal to want. It keeps elements that stay, with their focus, and what the reader has unfolded.
  function morph(have, want) {
    if (have.nodeType === Node.TEXT_NODE) {
      if (have.data !== want.data) have.data = want.data;
      return;
    }
    if (have.nodeType !== Node.ELEMENT_NODE) return;
    for (const {name} of Array.from(have.attributes)) {
      if (!want.hasAttribute(name) && name !== "open") have.removeAttribute(name);
    }
    for (const {name, value} of Array.from(want.attributes)) {
      if (name === "open") continue; // the reader may have folded it
      if (have.getAttribute(name) !== value) have.setAttribute(name, value);
    }
    let next = have.firstChild;
    for (const node of Array.from(want.childNodes)) {
      let same = next;
      while (same && key(same) !== key(node)) same = same.nextSibling;
      if (!same) {
        have.insertBefore(node, next);
        continue;
      }
      while (next !== same) next = remove(next);
      morph(same, node);
      next = same.nextSibling;
    }
    while (next) next = remove(next);
  }

  function remove(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  // key tells targets, prompts and links apart, so that a bar that moves to the left stays the same element.
  function key(node) {
    if (!node.getAttribute) return node.nodeName;
    return node.nodeName + ["data-target", "data-prompt", "href"].map(name => node.getAttribute(name));
  }

  // refresh fetches the page, and again after a time that grows with how long that took: a slow prober is asked less.
  async function refresh() {
    const began = Date.now();
    try {
      if (document.hidden) return;
      const address = location.origin + location.pathname + location.search;
      const answer = await fetch(address, {cache: "no-store", signal: AbortSignal.timeout(10000)});
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (fresh.documentElement.dataset.version !== document.documentElement.dataset.version) {
        location.reload(); // another prober may have another style and script
        return;
      }
      morph(live, fresh.getElementById("live"));
      document.title = fresh.title;
      lost.hidden = true;
    } catch (_) {
      lost.hidden = false;
    } finally {
      setTimeout(refresh, Math.max(2000, 5 * (Date.now() - began)));
    }
  }
  setTimeout(refresh, 2000);
})();
