import { snippetDecisions } from '../../schemas/snippets/topics.ts'
import type { BlobStore } from '../../state/blobs/blob-store.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { SNIPPETS_VIEW } from '../../state/views/snippets/snippets.ts'
import type { ListReader, ScoreReader, ViewReader } from '../../state/views/view.ts'
import { jsonAnswer, noContent } from '../kit/answer.ts'
import { isDecimalUserId } from '../kit/auth/authorize.ts'
import type { Commands } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { viewProbe } from '../kit/readiness.ts'
import { bind } from '../kit/route.ts'
import type { ServiceRoutes } from '../kit/service-routes.ts'
import { isOwner, snippetAccess } from './access.ts'
import { type CreationRequest, type Predecessor, snippetCreation } from './create.ts'
import { compareSnippets } from './diff/compare.ts'
import type { Comparer } from './diff/comparer.ts'
import { OWNER_ONLY, snippetErrors } from './errors.ts'
import { isSnippetId } from './ids.ts'
import { snippetLists } from './list.ts'
import type { Highlighter } from './page/highlighter.ts'
import { snippetPages } from './page/page.ts'
import { type ReadDeps, snippetReads } from './read.ts'
import {
  createRoute,
  deleteRoute,
  diffRoute,
  pageRoute,
  rawRoute,
  readRoute,
  revealRoute,
  searchRoute,
  userListRoute,
  versionRoute,
} from './routes.ts'
import type { ContentStreams } from './streams.ts'

export interface SnippetsDeps {
  readonly views: ViewReader & ListReader & ScoreReader
  readonly tables: TableReader
  readonly facts: Facts
  readonly commands: Commands
  readonly blobs: BlobStore
  readonly streams: ContentStreams
  readonly counted: ReadDeps['counted']
  readonly highlighter: Highlighter
  readonly comparer: Comparer
  /** Base URL of all absolute URLs in answers. */
  readonly publicUrl: string
  /** Epoch ms. */
  now(): number
}

/** Creates the handlers of the snippets service: docs/services/snippets.md */
export function snippetsHandlers(deps: SnippetsDeps): ServiceRoutes {
  const { views, facts, commands, blobs, streams } = deps
  const contents = { blobs, outgoing: streams.outgoing }
  const access = snippetAccess(deps)
  const creation = snippetCreation({ ...deps, incoming: streams.incoming })
  const reads = snippetReads({ ...deps, access, contents })
  const lists = snippetLists({ ...deps, access })
  const page = snippetPages({ access, reads, highlighter: deps.highlighter })

  async function ownPredecessor({ caller, idempotencyKey }: CreationRequest, id: string): Promise<Predecessor> {
    try {
      const record = await access.find(id, caller)
      if (!isOwner(record, caller)) throw new ApiError(errors.forbidden, { message: OWNER_ONLY })
      return { id, record }
    } catch (error) {
      // If the predecessor has disappeared since the version was created, a repeated request must still get the first
      // answer.
      const isGone = error instanceof ApiError && error.definition === snippetErrors.paste_not_found
      if (!isGone || idempotencyKey === undefined || !isSnippetId(id)) throw error
      return { id, record: undefined }
    }
  }

  return {
    name: 'snippets',
    isUserId: isDecimalUserId,
    description: 'Stores text and code of up to 10 MiB under a short id.',
    errors: Object.values(snippetErrors),
    probes: [viewProbe(views, facts, SNIPPETS_VIEW, snippetDecisions), commands.probe],
    routes: [
      bind(createRoute, async (input) => jsonAnswer(201, await creation.create(input), PRIVATE)),
      bind(versionRoute, async (input) => {
        const predecessor = await ownPredecessor(input, input.params.paste_id)
        return jsonAnswer(201, await creation.create(input, predecessor), PRIVATE)
      }),
      bind(searchRoute, ({ query }) => lists.search(query.q, query)),
      bind(userListRoute, ({ params, query, caller }) => lists.ofUser(params.user_id, caller, query.sort, query)),
      bind(readRoute, (input) => reads.asJson(input, input.params.paste_id)),
      bind(rawRoute, (input) => reads.asText(input, input.params.paste_id)),
      bind(diffRoute, async ({ params, query, caller, address }) => {
        const [from, to] = await Promise.all([access.find(params.paste_id, caller), access.find(query.with, caller)])
        return await compareSnippets({ ...deps, contents }, { from, to, address })
      }),
      bind(deleteRoute, async (input) => {
        await access.remove(input, input.params.paste_id)
        return noContent()
      }),
      bind(pageRoute, (input) => page(input, input.params.paste_id)),
      bind(revealRoute, (input) => page(input, input.params.paste_id)),
    ],
  }
}
