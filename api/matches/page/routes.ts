import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'

export const matchPageRoute = defineRoute({
  method: 'get',
  path: '/match',
  operationId: 'matchPage',
  summary: 'Show the match feed as an HTML page',
  description:
    'The page asks for a token, shows candidates to swipe with keys or buttons, and lists new matches within seconds. Administrators also see which cells a search visits. The page reads and changes all data through this API.',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const matchPageFileRoute = pageFileRoute('/match', 'matchPageFile')
