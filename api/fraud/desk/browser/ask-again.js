// @ts-check
import { ignoreHeldEnter, isRepeatedClick, make } from '../../../kit/page/browser/elements.js'

/**
 * Creates a button for actions that affect many payments or discard unsaved input. The button acts on the second press.
 * When it loses the focus, it forgets the first press. A double click or a held Enter key counts as one press.
 * @param {string} label
 * @param {string} question the label after the first press
 * @param {() => Promise<unknown>} act
 * @param {() => boolean} [isNeeded] returns whether the button asks at all; by default, it always asks
 */
export function askAgain(label, question, act, isNeeded = () => true) {
  const made = make('button', 'small', label)
  made.type = 'button'
  made.dataset.focus = label
  let isAsked = false
  let isBusy = false

  /** @param {boolean} asked */
  function ask(asked) {
    isAsked = asked
    made.textContent = asked ? question : label
    made.classList.toggle('primary', asked)
  }

  ignoreHeldEnter(made)
  made.addEventListener('click', async (event) => {
    if (isBusy || isRepeatedClick(event)) return
    if (!isAsked && isNeeded()) return ask(true)
    isBusy = true
    await act().finally(() => {
      isBusy = false
      ask(false)
    })
  })
  made.addEventListener('blur', () => ask(false))
  return made
}
