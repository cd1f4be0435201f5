// @ts-check
import { make, part, smallButton } from '../../../kit/page/browser/elements.js'

/**
 * Shows messages about failed changes to cases that are no longer open. Analysts may be busy with another case when such
 * a message appears, so each message stays until it is dismissed, or until the analyst has successfully repeated the
 * change.
 */
export function lostChanges() {
  /**
   * The shown messages, keyed by what was lost.
   * @type {Map<string, HTMLElement>}
   */
  const shown = new Map()

  /** @param {string} about */
  function remove(about) {
    shown.get(about)?.remove()
    shown.delete(about)
  }

  return {
    remove,
    /**
     * @param {string} about says what was lost
     * @param {string} reason
     */
    add(about, reason) {
      remove(about)
      const dismiss = smallButton('Dismiss', () => remove(about))
      const message = make('div', 'problem', make('span', '', `${about}${reason}`), ' ', dismiss)
      message.role = 'alert'
      shown.set(about, message)
      part('lost').append(message)
    },
    clear() {
      for (const about of [...shown.keys()]) remove(about)
    },
  }
}
