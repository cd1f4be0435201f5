import { catalogSynonyms } from '../../../../schemas/catalog/search/topics.ts'
import type { SynonymGroup } from '../../../../schemas/catalog/types.ts'
import type { ReadinessProbe } from '../../../kit/readiness.ts'
import { heldAsIs } from '../../../kit/small-table/holding.ts'
import type { ServiceKit } from '../../../service.ts'
import { type Synonyms, synonymsOf } from '../text/synonyms.ts'

/** This process's current copy of all groups of synonyms. A change normally reaches every process within a second. */
export interface SynonymTable {
  /**
   * The groups, keyed by name. Reading this property throws ApiError `not_ready` until the groups have been read or a
   * snapshot is in use.
   */
  readonly groups: ReadonlyMap<string, SynonymGroup>
  readonly synonyms: Synonyms
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export async function openSynonyms({ smallTables }: Pick<ServiceKit, 'smallTables'>): Promise<SynonymTable> {
  let synonyms: Synonyms | undefined
  const table = await smallTables(
    catalogSynonyms,
    heldAsIs<SynonymGroup>(1, () => {
      synonyms = undefined
    }),
  )
  return {
    get groups() {
      return table.entries()
    },
    get synonyms() {
      synonyms ??= synonymsOf(table.entries().values())
      return synonyms
    },
    probes: table.probes,
    close: table.close,
  }
}
