import { listKey } from '../../../schemas/fraud/settings/keys.ts'
import { jsonAnswer, noContent } from '../../kit/answer.ts'
import { ApiError } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import type { FraudPart } from '../part.ts'
import type { ChangeSettings } from '../settings-commands.ts'
import type { FraudSettingsInForce } from '../settings-in-force.ts'
import { summaryJson, summaryOf } from './model.ts'
import { createListRoute, deleteListRoute, listListsRoute, readListRoute, replaceListRoute } from './routes.ts'

export interface ListsDeps {
  readonly settings: FraudSettingsInForce
  readonly changeSettings: ChangeSettings
}

const missing = fraudErrors.list_not_found

/** Creates the routes that operators use to change and read the lists of values for rules. */
export function listsPart({ settings, changeSettings }: ListsDeps): FraudPart {
  function found(name: string) {
    const list = settings.list(name)
    if (list === undefined) throw new ApiError(missing)
    return list
  }

  return {
    routes: [
      bind(createListRoute, async (input) => {
        const { name, values } = input.body
        const asked = ['createFraudList', name, values]
        const change = { key: listKey(name), action: 'create_list', input: { list: name, values }, outcome: 'list', asked } as const
        const { list } = await changeSettings(input, { ...change, exists: fraudErrors.list_exists })
        return jsonAnswer(201, summaryJson(list), PRIVATE)
      }),
      bind(listListsRoute, () => {
        const lists = settings.allLists.map((list) => summaryJson(summaryOf(list)))
        return jsonAnswer(200, { lists: lists.sort((one, other) => (one.name < other.name ? -1 : 1)) }, PRIVATE)
      }),
      bind(readListRoute, ({ params: { name } }) => {
        const list = found(name)
        return jsonAnswer(200, { ...summaryJson(summaryOf(list)), values: [...list.values] }, PRIVATE)
      }),
      bind(replaceListRoute, async (input) => {
        const { name } = input.params
        const { values } = input.body
        const asked = ['replaceFraudList', name, values]
        const change = {
          key: listKey(name),
          action: 'replace_list',
          input: { list: name, values },
          outcome: 'list',
          asked,
          missing,
        } as const
        return jsonAnswer(200, summaryJson((await changeSettings(input, change)).list), PRIVATE)
      }),
      bind(deleteListRoute, async (input) => {
        const { name } = input.params
        const asked = ['deleteFraudList', name]
        await changeSettings(input, {
          key: listKey(name),
          action: 'delete_list',
          input: { list: name },
          outcome: 'removed',
          asked,
          missing,
        })
        return noContent()
      }),
    ],
  }
}
