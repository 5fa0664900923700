/** Whole stores for commands, by their addresses. */
import { UsageError } from '../cli/command.ts'
import type { StoreAccess } from '../cli/store-commands.ts'
import type { Config } from '../config.ts'
import type { Clock } from '../kit/clock.ts'
import {
  checkStore,
  distributeStore,
  FolderLockedError,
  parseStoreAddress,
  type StoreAddress,
  upgradeStore,
} from '../store/open-stores.ts'
import { DataFolderError, storeAddress } from './data-folder.ts'

export function storeAccess(config: Config, clock: Clock): StoreAccess {
  const addressOf = (text: string | undefined, option: string): StoreAddress => {
    if (text === undefined) return storeAddress(config)
    try {
      return parseStoreAddress(text, config.cacheMb)
    } catch (error) {
      if (error instanceof RangeError) throw new UsageError(`--${option}: ${error.message}`)
      throw error
    }
  }
  return {
    distribute: (store, options) => distributeStore(addressOf(store, 'store'), options),
    check: (store) => checkStore(addressOf(store, 'store')),
    async migrate(store) {
      try {
        return await upgradeStore(addressOf(store, 'store'), clock)
      } catch (error) {
        if (error instanceof FolderLockedError) throw new DataFolderError(`${error.message} Stop it first.`)
        throw error
      }
    },
  }
}
