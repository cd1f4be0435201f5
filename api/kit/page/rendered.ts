import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { PRIVATE } from '../headers.ts'

/** Escaped HTML. Templates escape all text that they insert. */
export type Html = ReturnType<typeof html>

/**
 * Content security policy of rendered pages. These pages have no scripts. Their style sheets come only from this
 * server, and their images from this server or from data URLs.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export interface RenderedPage {
  readonly status: number
  readonly title: string
  /** The URL of the page's own style sheet; undefined if the page uses only the shared style sheet. */
  readonly styleSheet?: string
  readonly header: Html
  readonly main: Html
}

/** Renders a page, and returns it as an answer. The page works without scripts. */
export async function renderedPage({ status, title, styleSheet, header, main }: RenderedPage): Promise<Answer> {
  const page = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/kit/page/browser/base.css">
${styleSheet === undefined ? '' : html`<link rel="stylesheet" href="${styleSheet}">`}
</head>
<body>
<header>
${header}
</header>
<main>${main}</main>
</body>
</html>`
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': PAGE_POLICY, ...PRIVATE }
  return { status, headers, body: String(page) }
}
