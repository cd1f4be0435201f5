import { snippetReads, snippetViewCounts } from '../../schemas/snippets/topics.ts'
import type { SnippetRead } from '../../schemas/snippets/types.ts'
import { avro, type Context, keyedStore, type RecordContext, topology, utf8 } from '../engine/index.ts'

/**
 * Commit interval. Reads of a snippet within an interval are counted together, so that a popular snippet costs one
 * record per commit. The interval may be long, because views need to be accurate only to within a minute:
 * docs/services/snippets.md#views
 */
const COMMIT_INTERVAL_MS = 5_000

/** Counts the views of snippets from their reads. Each read costs one addition. */
export const snippetViews = topology(
  'snippet-views',
  function declareSnippetViews(t) {
    // The store keeps one small row per snippet that was ever read, even after the snippet is deleted. The store of
    // snippets grows at least as fast, because it also keeps a row for each deleted snippet, so that no id is assigned
    // twice. This topology reads no decisions, so it cannot determine which snippets are gone. A row must not expire by
    // time either: the count would begin again at 1, and a snippet ignores counts that are lower than its own.
    const totals = keyedStore('totals', { key: utf8, value: avro('snippets/SnippetViews') })
    let pending = new Map<string, number>()

    function count(_read: SnippetRead, ctx: RecordContext<string>): void {
      pending.set(ctx.key, (pending.get(ctx.key) ?? 0) + 1)
    }

    function sendViews(ctx: Context): void {
      for (const [id, reads] of pending) {
        const views = (totals.get(id)?.views ?? 0) + reads
        totals.put(id, { views })
        ctx.emit(snippetViewCounts, id, { views })
      }
      pending = new Map()
    }

    t.source(snippetReads, { onError: { process: 'dead-letter', produce: 'dead-letter' } })
      .process('count-read', { stores: [totals], reads: (_read, id) => totals.prefetch(id) }, count)
      .beforeCommit('send-views', { stores: [totals], emits: [snippetViewCounts] }, sendViews)
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
