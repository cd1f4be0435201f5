import { catalogSynonyms } from '../../../../schemas/catalog/search/topics.ts'
import { wordsOf } from '../../../../state/indexes/catalog/words.ts'
import { jsonAnswer, noContent } from '../../../kit/answer.ts'
import { invalidRequest } from '../../../kit/errors.ts'
import type { Facts } from '../../../kit/facts.ts'
import { PRIVATE } from '../../../kit/headers.ts'
import { bind } from '../../../kit/route.ts'
import type { CatalogPart } from '../../part.ts'
import { deleteSynonymsRoute, listSynonymsRoute, putSynonymsRoute } from '../routes.ts'
import { MOST_TERM_WORDS } from '../text/synonyms.ts'
import type { SynonymTable } from './table.ts'

export interface SynonymsDeps {
  readonly facts: Pick<Facts, 'publish'>
  readonly table: SynonymTable
}

/** Creates the routes with which administrators manage groups of synonyms. */
export function synonymsPart({ facts, table }: SynonymsDeps): CatalogPart {
  return {
    probes: table.probes,
    close: table.close,
    routes: [
      bind(putSynonymsRoute, async ({ params: { name }, body: { terms, one_way } }) => {
        terms.forEach((term, at) => {
          const { length } = wordsOf(term)
          if (length === 0 || length > MOST_TERM_WORDS)
            throw invalidRequest(`body.terms[${at}]`, `must have 1 to ${MOST_TERM_WORDS} words; a number with a unit counts as two`)
        })
        await facts.publish(catalogSynonyms, name, { terms, one_way })
        return jsonAnswer(200, { name, terms, one_way }, PRIVATE)
      }),
      bind(deleteSynonymsRoute, async ({ params: { name } }) => {
        await facts.publish(catalogSynonyms, name, null)
        return noContent()
      }),
      bind(listSynonymsRoute, () => {
        const groups = [...table.groups].map(([name, { terms, one_way }]) => ({ name, terms, one_way }))
        return jsonAnswer(200, { groups: groups.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }, PRIVATE)
      }),
    ],
  }
}
