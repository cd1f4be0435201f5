import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'

export const deskRoute = defineRoute({
  method: 'get',
  path: '/fraud',
  operationId: 'fraudDesk',
  summary: "Show the analysts' desk as an HTML page",
  description:
    'Analysts work through the queue of cases on this page and give verdicts by keyboard. The page also has a rule editor with back-tests, and shows the report on the models. The page reads and changes all data through this API, with the session of its user.',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const deskFileRoute = pageFileRoute('/fraud', 'fraudDeskFile')
