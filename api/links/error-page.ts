import { createHash } from 'node:crypto'
import { html } from 'hono/html'
import { type ApiError, errors } from '../kit/errors.ts'
import { linksErrors } from './errors.ts'

const STYLE = ':root{color-scheme:light dark}body{margin:0 auto;padding:1rem;max-width:40rem;font:16px/1.5 system-ui,sans-serif}'

const CANNOT_BE_FOLLOWED = 'This link cannot be followed now'

/** Headers of the page. Its policy permits only its own style, because the page needs nothing else. */
export const ERROR_PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'`,
}

/**
 * Renders the error of a short link for a visitor. The visitor has usually not created the link, so the page does not
 * say which server does not respond. The style is part of the page, because the port of the short domains serves no
 * files.
 */
export async function errorPage(error: ApiError, requestId: string): Promise<string> {
  const isUnknown = error.definition === linksErrors.url_not_found
  const isTemporary = error.definition.status === errors.unavailable.status
  const page = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${isUnknown ? 'Link not found' : CANNOT_BE_FOLLOWED}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${isTemporary ? CANNOT_BE_FOLLOWED : error.message}</h1>
${isUnknown ? html`<p>It may be mistyped, or it has expired or was removed.</p>` : ''}
${isTemporary ? html`<p>${errors.unavailable.message}</p>` : ''}
<p>Request ${requestId}</p>
</body>
</html>`
  return String(page)
}
