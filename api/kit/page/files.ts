import { readFile } from 'node:fs/promises'
import { type Answer, cacheableAnswer } from '../answer.ts'
import { ApiError, errors } from '../errors.ts'

const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }

/**
 * Content security policy of a page. The page loads files only from its own server and calls only this server, so no
 * other server can find out which pages a user views. Other answers of this server cannot run as scripts, because they
 * have other media types, and browsers must not guess the type. Trusted Types keep text from being interpreted as HTML.
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
 * Cache-Control of page files. Browsers revalidate a file each time, and get a 304 if it has not changed. A page
 * therefore never uses a cached file that the server has replaced.
 */
const CACHING = 'no-cache'

export interface PageFilesOptions {
  /**
   * The folder with the files. Browsers get the files unchanged, so scripts are written in JavaScript. tsc checks the
   * types in their comments.
   */
  readonly folder: URL
  /** Names of the scripts and style sheets that `file` serves. */
  readonly files: readonly string[]
}

export interface PageFiles {
  /** Answers with an HTML file and the content security policy of pages. */
  page(file: string): Promise<Answer>
  /** Answers with a script or a style sheet. Throws ApiError `not_found` for a name that is not in the list. */
  file(file: string): Promise<Answer>
}

/** Serves the files of a page. Each file is read once, and again after a failed read. */
export function pageFiles({ folder, files }: PageFilesOptions): PageFiles {
  const allowed = new Set(files)
  const loaded = new Map<string, Promise<Answer>>()

  async function load(file: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const type = TYPES[file.slice(file.lastIndexOf('.') + 1) as keyof typeof TYPES]
    return cacheableAnswer(await readFile(new URL(file, folder)), { 'Content-Type': type, 'Cache-Control': CACHING, ...headers })
  }

  function answer(file: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const known = loaded.get(file)
    if (known !== undefined) return known
    const loading = load(file, headers)
    loaded.set(file, loading)
    loading.catch(() => loaded.delete(file))
    return loading
  }

  return {
    page: (file) => answer(file, { 'Content-Security-Policy': PAGE_POLICY }),
    async file(file) {
      if (!allowed.has(file)) throw new ApiError(errors.not_found)
      return await answer(file)
    },
  }
}
