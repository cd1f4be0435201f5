import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'

const open = { kind: 'open' } as const

export const matchPageRoute = defineRoute({
  method: 'get',
  path: '/match',
  operationId: 'matchPage',
  summary: 'Show the match feed as an HTML page',
  description:
    'The page asks for a token, shows candidates to swipe by key or button, and lists matches as they come. Administrators also see which cells a search visits. The page has no data of its own: it calls this API.',
  auth: open,
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const matchPageFileRoute = defineRoute({
  method: 'get',
  path: '/match/{file}',
  operationId: 'matchPageFile',
  summary: 'Read a script or the style sheet of the page',
  description: 'Only the page itself needs these files. Their names may change.',
  auth: open,
  params: z.object({ file: z.string().openapi({ description: 'The name of the file.', example: 'style.css' }) }),
  answers: { 200: { description: 'The file.', mediaType: 'text/javascript', otherMediaTypes: ['text/css'] } },
  errors: [errors.not_found],
})
