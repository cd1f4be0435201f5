import { readFile } from 'node:fs/promises'
import { type Answer, cacheableAnswer } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { bind } from '../../kit/route.ts'
import { matchPageFileRoute, matchPageRoute } from './routes.ts'

/** Browsers get these files as they are. They are therefore JavaScript, with types in comments, which tsc checks. */
const FOLDER = new URL('./browser/', import.meta.url)
const HTML = 'page.html'
const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }
/** Files that a browser may ask for. No other name is ever opened. */
const FILES = new Set([
  'style.css',
  'main.js',
  'elements.js',
  'client.js',
  'messages.js',
  'forms.js',
  'deck.js',
  'card.js',
  'matches.js',
  'search-map.js',
  'map-drawing.js',
])

/**
 * Content security policy of the page. It loads its own files and calls its own server, and nothing else: photos are
 * addresses that users choose, and loading them would tell those servers who looks at whom. Other answers of this
 * server cannot run as scripts, because they have other types and must not be sniffed. No text can become HTML.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Browsers ask each time, and get 304 unless the file has changed, so that the parts of the page always fit. */
const CACHING = 'no-cache'

/** Creates the routes of the page. They need no server but this one. */
export function pageRoutes() {
  const loaded = new Map<string, Promise<Answer>>()

  async function load(file: string): Promise<Answer> {
    const type = TYPES[file.slice(file.lastIndexOf('.') + 1) as keyof typeof TYPES]
    const policy: Record<string, string> = file === HTML ? { 'Content-Security-Policy': PAGE_POLICY } : {}
    return cacheableAnswer(await readFile(new URL(file, FOLDER)), { 'Content-Type': type, 'Cache-Control': CACHING, ...policy })
  }

  function answer(file: string): Promise<Answer> {
    const known = loaded.get(file) ?? load(file)
    loaded.set(file, known)
    return known
  }

  return [
    bind(matchPageRoute, () => answer(HTML)),
    bind(matchPageFileRoute, ({ params: { file } }) => {
      if (!FILES.has(file)) throw new ApiError(errors.not_found)
      return answer(file)
    }),
  ]
}
