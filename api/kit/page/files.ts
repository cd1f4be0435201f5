import { readFile } from 'node:fs/promises'
import { type Answer, cacheableAnswer } from '../answer.ts'
import { ApiError, errors } from '../errors.ts'

const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }

/**
 * Content security policy of a page. It loads files only from its own server and calls only this server, so no other
 * server learns who looks at what. Other answers of this server cannot run as scripts, because they have other types
 * and must not be sniffed. No text can become HTML.
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

/**
 * Browsers ask each time, and get 304 unless the file has changed, so that all files of a page have the same version.
 */
const CACHING = 'no-cache'

export interface PageFilesOptions {
  /**
   * The folder with the files. Browsers get them as they are, so scripts are JavaScript, with types in comments, which
   * tsc checks.
   */
  readonly folder: URL
  /** The files that a browser may ask for. No other name is ever opened. */
  readonly files: readonly string[]
}

export interface PageFiles {
  /** Answers with an HTML file and the policy of pages. */
  page(file: string): Promise<Answer>
  /** Answers with a script or a style sheet. Throws ApiError `not_found` for other names. */
  file(file: string): Promise<Answer>
}

/** Serves the files of a page. Each is read once. */
export function pageFiles({ folder, files }: PageFilesOptions): PageFiles {
  const allowed = new Set(files)
  const loaded = new Map<string, Promise<Answer>>()

  async function load(file: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const type = TYPES[file.slice(file.lastIndexOf('.') + 1) as keyof typeof TYPES]
    return cacheableAnswer(await readFile(new URL(file, folder)), { 'Content-Type': type, 'Cache-Control': CACHING, ...headers })
  }

  function answer(file: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const known = loaded.get(file) ?? load(file, headers)
    loaded.set(file, known)
    return known
  }

  return {
    page: (file) => answer(file, { 'Content-Security-Policy': PAGE_POLICY }),
    async file(file) {
      if (!allowed.has(file)) throw new ApiError(errors.not_found)
      return await answer(file)
    },
  }
}
