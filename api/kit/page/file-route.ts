import { z } from '@hono/zod-openapi'
import { errors } from '../errors.ts'
import { defineRoute } from '../route.ts'

/** Default texts in the API documentation for a route that serves a page's files. */
const OWN_FILES = {
  summary: 'Read a script or the style sheet of the page',
  description: 'Returns a file that only the page itself needs. File names may change.',
  example: 'style.css',
}

/**
 * Defines the route that serves the scripts and style sheets of a page.
 * @param folder the URL path of the files, without a trailing slash
 */
export function pageFileRoute(folder: `/${string}`, operationId: string, { summary, description, example } = OWN_FILES) {
  return defineRoute({
    method: 'get',
    path: `${folder}/{file}`,
    operationId,
    summary,
    description,
    auth: { kind: 'open' },
    params: z.object({ file: z.string().openapi({ description: 'The name of the file.', example }) }),
    answers: { 200: { description: 'The file.', mediaType: 'text/javascript', otherMediaTypes: ['text/css'] } },
    errors: [errors.not_found],
  })
}
