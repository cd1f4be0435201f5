import { z } from '@hono/zod-openapi'
import { errors } from '../errors.ts'
import { type BoundRoute, bind, defineRoute } from '../route.ts'
import { pageFiles } from './files.ts'

/**
 * The address mirrors the folder tree, so that the relative imports of scripts mean the same file on the disk, where
 * tsc checks them, and in a browser.
 */
const sharedFileRoute = defineRoute({
  method: 'get',
  path: '/kit/page/browser/{file}',
  operationId: 'sharedPageFile',
  summary: 'Read a script or a style sheet that pages share',
  description: 'Only pages need these files. Their names may change.',
  auth: { kind: 'open' },
  params: z.object({ file: z.string().openapi({ description: 'The name of the file.', example: 'base.css' }) }),
  answers: { 200: { description: 'The file.', mediaType: 'text/javascript', otherMediaTypes: ['text/css'] } },
  errors: [errors.not_found],
})

const FILES = ['base.css', 'elements.js', 'form.js', 'plane.js', 'session.js', 'svg.js']

/** Creates the route of what the pages of several services share. */
export function sharedFiles(): BoundRoute {
  const files = pageFiles({ folder: new URL('./browser/', import.meta.url), files: FILES })
  return bind(sharedFileRoute, ({ params: { file } }) => files.file(file))
}
