// @ts-check
import { byId } from './elements.js'

/**
 * Calls `send` when a form is submitted. Until `send` has succeeded or failed, further submissions are ignored.
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
