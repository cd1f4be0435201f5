import { expect, test } from 'vitest'
import { fraudBlocklistView } from '../../../state/views/fraud/blocklist.ts'
import { fraudCasesView } from '../../../state/views/fraud/cases.ts'
import { snippetsView } from '../../../state/views/snippets/snippets.ts'
import type { View } from '../../../state/views/view.ts'
import { NOON } from '../../schemas/fraud/payments.ts'

const REPEATABLE_MS = 60_000
const VIEWS: readonly View<string, never>[] = [fraudBlocklistView, fraudCasesView, snippetsView(REPEATABLE_MS)]

test.each(VIEWS)('$name: a stored value that cannot be read does not stop the sink when the value is deleted', (view) => {
  const deleted = (held: string | null) => view.operationsFor(0, 'id', null, { held, now: NOON })
  expect(deleted('{"entity_type":')).toEqual(deleted(null))
  expect(deleted(null).length).toBeGreaterThan(0)
})
