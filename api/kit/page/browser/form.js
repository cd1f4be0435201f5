// @ts-check
import { byId } from './elements.js'

/**
 * Calls `send` when a form is submitted. The form stays locked until it has succeeded or failed.
 * @param {string} id
 * @param {() => unknown} send
 * @param {(error: unknown) => void} onFailure
 */
export function onSubmit(id, send, onFailure) {
  const form = byId(id, HTMLFormElement)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (form.ariaBusy === 'true') return
    form.ariaBusy = 'true'
    try {
      await send()
    } catch (error) {
      onFailure(error)
    } finally {
      form.ariaBusy = 'false'
    }
  })
}
