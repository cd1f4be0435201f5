import { tablePurger } from '../../state/tables/purge.ts'
import { dropEarlierSnippets, snippetsPurge } from '../../state/tables/snippets/snippets.ts'
import type { Runner } from '../engine/index.ts'
import { erasureJob } from '../erasure-job.ts'
import type { SinkContext } from '../sinks.ts'

/**
 * Number of times that the log files of Redis are rewritten after the last erasure. The records that are kept for
 * repeated reads expire before the last rewrite, so the last rewrite removes them from the files.
 */
const REWRITES_AFTER_ERASURE = 6

/** Creates the job that rewrites the files of ClickHouse and Redis after snippets were erased. */
export function snippetErasure(context: SinkContext): Runner {
  const { config, runtime } = context
  return erasureJob(
    {
      name: 'snippet-erasure',
      rewrites: REWRITES_AFTER_ERASURE,
      isUnknownAtStart: true,
      open(client) {
        const cluster = { cluster: config.clickhouseCluster }
        const purger = tablePurger(client, snippetsPurge, cluster)

        /** Does not throw, because the purger must run even if a table cannot be dropped. */
        async function dropEarlier() {
          try {
            if (await dropEarlierSnippets(client, cluster)) runtime.log.info({}, 'earlier_snippets_dropped')
          } catch (error) {
            runtime.log.warn({ reason: (error as Error).message }, 'earlier_snippets_not_dropped')
          }
        }

        return async function erase() {
          // The table of earlier versions is not dropped before the first run, because workers and APIs of such a
          // version may use it during an upgrade.
          await dropEarlier()
          const { removed, hasErased } = await purger.run()
          if (removed > 0) runtime.log.info({ removed }, 'snippet_rows_purged')
          return hasErased
        }
      },
    },
    context,
  )
}
