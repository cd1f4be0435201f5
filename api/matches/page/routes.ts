import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'

export const matchPageRoute = defineRoute({
  method: 'get',
  path: '/match',
  operationId: 'matchPage',
  summary: 'Show the match feed as an HTML page',
  description:
    'The page asks for a token, shows candidates to swipe by key or button, and lists matches as they come. Administrators also see which cells a search visits. The page has no data of its own: it calls this API.',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const matchPageFileRoute = pageFileRoute('/match', 'matchPageFile')
