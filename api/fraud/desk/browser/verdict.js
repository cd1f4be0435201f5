// @ts-check
import { button, byId, input, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { ask } from '../../../kit/page/browser/session.js'
import { words } from './text.js'

/** @typedef {'CONFIRMED_FRAUD' | 'FALSE_POSITIVE' | 'SUSPICIOUS'} Verdict */

/** @type {Readonly<Record<string, { verdict: Verdict, id: string, question: string }>>} */
const BY_KEY = {
  f: { verdict: 'CONFIRMED_FRAUD', id: 'fraud', question: 'Confirm that this is fraud?' },
  p: { verdict: 'FALSE_POSITIVE', id: 'false-positive', question: 'Confirm that this is a false positive?' },
  s: { verdict: 'SUSPICIOUS', id: 'suspicious', question: 'Escalate this as suspicious?' },
}

/**
 * Lets analysts give verdicts by key or button. The analyst confirms each verdict before the page sends it. A verdict
 * cannot be deleted, because its events are already published. Undoing a verdict therefore sends a correction.
 * @param {object} wiring
 * @param {(error: unknown) => void} wiring.onFailure
 * @param {() => void} wiring.onGiven
 */
export function verdicts({ onFailure, onGiven }) {
  /** @type {{ transactionId: string, verdict: Verdict | null } | undefined} */
  let target
  /** The verdict that the analyst has chosen but not confirmed yet. */
  /** @type {Verdict | undefined} */
  let asked
  /** The verdict that `undo` corrects; undefined if there is none. */
  /** @type {{ transactionId: string, given: Verdict, before: Verdict | null } | undefined} */
  let last
  let isSending = false

  /** @param {string} key */
  function choose(key) {
    if (target === undefined || isSending) return
    const { verdict, question } = BY_KEY[key]
    asked = verdict
    part('confirm').hidden = false
    part('confirm-question').textContent = question
    part('fraud-type-field').hidden = verdict !== 'CONFIRMED_FRAUD'
    part('verdict-news').textContent = ''
    press(key)
    // A correction needs a reason, because others may have acted on the first verdict.
    const isCorrection = target.verdict !== null && target.verdict !== verdict
    input('verdict-notes').required = isCorrection
    part('notes-need').textContent = isCorrection ? '(a correction needs a reason)' : '(optional)'
    if (isCorrection) input('verdict-notes').focus()
    else button('confirm-verdict').focus()
  }

  /** @param {string} [key] key of the button that appears pressed */
  function press(key) {
    for (const [one, { id }] of Object.entries(BY_KEY)) button(id).setAttribute('aria-pressed', String(one === key))
  }

  function cancel() {
    asked = undefined
    part('confirm').hidden = true
    for (const id of ['fraud-type', 'verdict-notes']) input(id).value = ''
    press(Object.keys(BY_KEY).find((key) => BY_KEY[key].verdict === target?.verdict))
  }

  async function confirm() {
    if (target === undefined || asked === undefined) return
    const fraudType = asked === 'CONFIRMED_FRAUD' ? input('fraud-type').value.trim() : ''
    const notes = input('verdict-notes').value.trim()
    const { transactionId, verdict: before } = target
    const given = asked
    const wasGiven = await send(transactionId, { verdict: given, ...(fraudType && { fraud_type: fraudType }), ...(notes && { notes }) })
    if (!wasGiven) return
    last = { transactionId, given, before }
    if (target?.transactionId === transactionId) {
      target = { transactionId, verdict: given }
      say(`Recorded as ${words(given)}.`, true)
    }
    onGiven()
  }

  async function undo() {
    if (last === undefined || target?.transactionId !== last.transactionId) return
    const { transactionId, given, before } = last
    // If there was no earlier verdict, SUSPICIOUS returns the case to the analysts without labelling the transaction.
    const verdict = before ?? 'SUSPICIOUS'
    const notes = `Correction: ${words(given)} was given by mistake.`
    if (!(await send(transactionId, { verdict, notes }))) return
    last = undefined
    if (target?.transactionId === transactionId) {
      target = { transactionId, verdict }
      say(`Corrected: the verdict is now ${words(verdict)}.`, false)
    }
    onGiven()
  }

  /**
   * @param {string} transactionId
   * @param {object} body
   * @returns {Promise<boolean>} whether the server has recorded the verdict
   */
  async function send(transactionId, body) {
    if (isSending) return false
    isSending = true
    try {
      await ask('POST', `/api/v1/transactions/${encodeURIComponent(transactionId)}/feedback`, body)
      return true
    } catch (error) {
      onFailure(error)
      return false
    } finally {
      isSending = false
    }
  }

  /**
   * @param {string} news
   * @param {boolean} mayUndo
   */
  function say(news, mayUndo) {
    cancel()
    part('verdict-news').textContent = news
    button('undo').hidden = !mayUndo
    part('case').focus({ preventScroll: true })
  }

  for (const [key, { id }] of Object.entries(BY_KEY)) button(id).addEventListener('click', () => choose(key))
  button('cancel-verdict').addEventListener('click', () => {
    cancel()
    part('case').focus({ preventScroll: true })
  })
  byId('confirm', HTMLFormElement).addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    cancel()
    part('case').focus({ preventScroll: true })
  })
  button('undo').addEventListener('click', () => void undo())
  onSubmit('confirm', confirm, onFailure)

  return {
    /**
     * Shows the verdict of the open transaction. If the same transaction is already open, a pending question stays.
     * @param {{ transactionId: string, verdict: Verdict | null }} opened
     */
    open(opened) {
      const isOther = opened.transactionId !== target?.transactionId
      target = opened
      if (isOther) this.reset()
      if (asked === undefined) cancel()
    },
    /** Forgets the open transaction. */
    close() {
      target = undefined
      this.reset()
    },
    reset() {
      last = undefined
      button('undo').hidden = true
      part('verdict-news').textContent = ''
      cancel()
    },
    /**
     * @param {string} key
     * @returns {boolean} whether the key has a function
     */
    press(key) {
      if (key === 'escape' && asked !== undefined) cancel()
      else if (key === 'u' && !button('undo').hidden) void undo()
      else if (Object.hasOwn(BY_KEY, key)) choose(key)
      else return false
      return true
    },
  }
}
