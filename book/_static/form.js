"use strict";
// A form that is drawn anew while somebody types in it: for the explorer and the designer.

/** Let a form's fields be those of `fresh`, and keep every node that both have: whoever is in one, or opens it, stays there. */
function renew(old, fresh, typed) {
  const key = e => e.querySelector("[name]")?.name ?? e.tagName, has = new Map([...old.children].map(e => [key(e), e]));
  [...fresh.children].forEach((next, i) => {
    const kept = has.get(key(next)), [field, wanted] = [kept, next].map(e => e?.querySelector("[name]"));
    if (!kept) return old.insertBefore(next, old.children[i] ?? null);
    has.delete(key(next));
    if (kept.tagName === "FIELDSET") return renew(kept, next, typed);
    if (!field || field === typed) return;
    const { value } = wanted, can = select => [...select.options ?? []].map(o => o.value + o.text).join();
    if (can(field) !== can(wanted)) field.replaceChildren(...wanted.children);
    field.value = value;
  });
  for (const gone of has.values()) gone.remove();
}
