// @ts-check

/**
 * Returns the element with an id.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind the class that the element must have
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no element ${id} of the expected class`)
  return found
}

/** @param {string} id */
export const button = (id) => byId(id, HTMLButtonElement)
/** @param {string} id */
export const input = (id) => byId(id, HTMLInputElement)
/** @param {string} id */
export const part = (id) => byId(id, HTMLElement)

/**
 * Creates an element. Text from users becomes text nodes, never HTML.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} [className]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className = '', ...children) {
  const made = document.createElement(tag)
  if (className !== '') made.className = className
  made.append(...children)
  return made
}

/**
 * Isolates a user's text, so that its bidirectional control characters do not affect the text after it.
 * @param {string} text
 */
export function isolated(text) {
  return make('bdi', '', text)
}

/**
 * Creates a button that takes little space.
 * @param {string} label
 * @param {() => void} onClick
 */
export function smallButton(label, onClick) {
  const made = make('button', 'small', label)
  made.type = 'button'
  made.addEventListener('click', onClick)
  return made
}

/**
 * Returns a function that shows text in an element. Empty text hides the element.
 * @param {HTMLElement} element
 * @returns {(text: string) => void}
 */
export function notice(element) {
  return (text) => {
    // Setting the same text again would make screen readers repeat it.
    if (element.textContent === text) return
    element.textContent = text
    element.hidden = text === ''
  }
}
