import { expect, test } from 'vitest'
import { scoredByRelevance } from '../../../../../api/catalog/search/engine/relevance-script.ts'
import { SALES_HALF_LIFE_MS } from '../../../../../schemas/catalog/documents/sales.ts'

const NOW = Date.UTC(2026, 0)
const AGE = NOW / SALES_HALF_LIFE_MS

// No parameter may be infinite: JSON represents infinities as null, and the search server refuses a script with a null
// parameter.
test.each([null, -1e308, 0, AGE - 1_074, AGE - 1_023, AGE, AGE + 1_023, 1e308])(
  'all parameters of the script are numbers, even for the percentile %s, which a forged cursor may contain',
  (salesPercentile) => {
    const query = scoredByRelevance({ match_all: {} }, { now: NOW, salesPercentile })
    const { params } = JSON.parse(JSON.stringify(query)).function_score.script_score.script
    expect(Object.values(params).filter((value) => typeof value !== 'number')).toEqual([])
  },
)
