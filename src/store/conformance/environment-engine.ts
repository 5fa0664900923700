import type { EnvironmentStore } from '../environment.ts'
import type { Engine } from './engine.ts'
import type { StoreEngine } from './engines.ts'

/** Opens the stores of an engine as the suites of an environment need them. */
export function environmentEngine(
  { name, create }: Pick<StoreEngine, 'name' | 'create'>,
  wrap = (store: EnvironmentStore) => store,
): Engine {
  return {
    name,
    async open(clock) {
      const place = create()
      const open = async () => wrap(await place.open(clock).environment('test'))
      let store = await open()
      return {
        store,
        async reopen() {
          await store.close()
          store = await open()
          return store
        },
        async remove() {
          await store.close()
          await place.remove()
        },
      }
    },
  }
}
