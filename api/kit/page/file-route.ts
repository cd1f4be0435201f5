import { z } from '@hono/zod-openapi'
import { errors } from '../errors.ts'
import { defineRoute } from '../route.ts'

/** Texts of the API documentation for the files of a page. */
const OWN_FILES = {
  summary: 'Read a script or the style sheet of the page',
  description: 'Returns a file that only the page itself needs. File names may change.',
  example: 'style.css',
}

/**
 * Defines the route of the scripts and style sheets of a page.
 * @param folder the path of the files, without a slash at its end
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
