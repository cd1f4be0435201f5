import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { type ApiError, errorHeaders, MAX_DETAILS } from '../errors.ts'
import { renderedPage } from './rendered.ts'

const TITLE = 'This page cannot be shown'
/**
 * Messages for error pages, keyed by error code. The default messages of these errors mention headers, which a page
 * does not show.
 */
const MESSAGES: Readonly<Record<string, string>> = {
  method_not_allowed: 'A browser cannot open this address.',
  rate_limit_exceeded: 'There were too many requests from your address or account.',
}

/** Renders an error that the handler of a page does not render itself. */
export async function errorPage(error: ApiError, requestId: string): Promise<Answer> {
  const { status, code } = error.definition
  const headers = errorHeaders(error)
  const seconds = headers['Retry-After']
  const details = (error.options.details ?? []).slice(0, MAX_DETAILS).map(({ path, message }) => html`<li>${path} ${message}</li>`)
  const page = await renderedPage({
    status,
    title: TITLE,
    header: html`<h1>${TITLE}</h1>`,
    main: html`<p>${MESSAGES[code] ?? error.message}</p>
${details.length === 0 ? '' : html`<ul>${details}</ul>`}
${seconds === undefined ? '' : html`<p>Try again in ${seconds} ${seconds === '1' ? 'second' : 'seconds'}.</p>`}
<p class="soft">Request ${requestId}</p>`,
  })
  return { ...page, headers: { ...page.headers, ...headers } }
}
