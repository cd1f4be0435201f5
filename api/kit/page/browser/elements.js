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
 * Creates a button that takes little space. It ignores the second click of a double click and a held Enter key, because
 * another button with the opposite effect may be in its place after the first click.
 * @param {string} label
 * @param {() => void} onClick
 */
export function smallButton(label, onClick) {
  const made = make('button', 'small', label)
  made.type = 'button'
  made.addEventListener('click', (event) => {
    if (!isRepeatedClick(event)) onClick()
  })
  ignoreHeldEnter(made)
  return made
}

/**
 * Returns whether a click follows another click so closely that both belong to a double click.
 * @param {MouseEvent} event
 */
export function isRepeatedClick({ detail }) {
  return detail > 1
}

/**
 * Makes an element and its content ignore a held Enter key. While the key is held, browsers would press the focused
 * button many times per second, even if the button received the focus only after the key was pressed.
 * @param {HTMLElement} element
 */
export function ignoreHeldEnter(element) {
  element.addEventListener('keydown', (event) => {
    if (event.repeat && event.key === 'Enter') event.preventDefault()
  })
}

/**
 * Replaces the content of an element. If this removes the focused element, the new element with the same `data-focus`
 * gets the focus, so that users of keyboards and screen readers keep their place.
 * @param {HTMLElement} where
 * @param {readonly (Node | string)[]} content
 * @param {HTMLElement} [otherwise] gets the focus if there is no such element
 */
export function redraw(where, content, otherwise = where) {
  const focused = document.activeElement
  const had = focused instanceof HTMLElement && focused !== where && where.contains(focused) ? focused : undefined
  where.replaceChildren(...content)
  if (had === undefined || focusOn(had.dataset.focus)) return
  otherwise.tabIndex = -1
  otherwise.focus({ preventScroll: true })
}

/**
 * Focuses the element whose `data-focus` has a given value.
 * @param {string | undefined} name
 * @returns {boolean} whether there is such an element
 */
export function focusOn(name) {
  if (name === undefined) return false
  const found = [...document.querySelectorAll('[data-focus]')].find((one) => one instanceof HTMLElement && one.dataset.focus === name)
  if (!(found instanceof HTMLElement)) return false
  found.focus({ preventScroll: true })
  return true
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
