import { catalogSchemas } from './catalog/topics.ts'
import { fraudSchemas } from './fraud/topics.ts'
import { limitsSchemas } from './limits/topics.ts'
import { linksSchemas } from './links/topics.ts'
import { matchesSchemas } from './matches/topics.ts'
import { recommendationsSchemas } from './recommendations/topics.ts'
import type { ServiceSchemas } from './service.ts'
import { snippetsSchemas } from './snippets/topics.ts'
import { trendsSchemas } from './trends/topics.ts'

/** The public topics and initial rate limits of every service. */
// biome-ignore format: one line per service
export const serviceSchemas: readonly ServiceSchemas[] = [
  trendsSchemas,
  linksSchemas,
  limitsSchemas,
  matchesSchemas,
  snippetsSchemas,
  fraudSchemas,
  catalogSchemas,
  recommendationsSchemas,
]
