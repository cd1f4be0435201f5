// @ts-check

const SVG = 'http://www.w3.org/2000/svg'

/**
 * Creates an element of a drawing.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
export function element(name, attributes) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

/**
 * Creates a text element in a drawing.
 * @param {string} content
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} className
 */
export function text(content, x, y, size, className) {
  const made = element('text', { x, y, 'font-size': size, class: className })
  made.textContent = content
  return made
}
