/** Whole stores for commands, by their addresses. */
import { CommandError, UsageError } from '../cli/command.ts'
import type { StoreAccess } from '../cli/store-commands.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../kit/clock.ts'
import {
  CopyRefusedError,
  checkStore,
  copyStore,
  describeAddress,
  distributeStore,
  FolderLockedError,
  openCopy,
  parseStoreAddress,
  planUpgrade,
  type StoreAddress,
  upgradeStore,
} from '../store/open-stores.ts'
import { DataFolderError, storeAddress } from './data-folder.ts'
import { assertSecret, secretsOf } from './secrets.ts'

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
    planUpgrade: (store) => planUpgrade(addressOf(store, 'store')),
    async migrate(store) {
      try {
        return await upgradeStore(addressOf(store, 'store'), clock)
      } catch (error) {
        if (error instanceof FolderLockedError) throw new DataFolderError(`${error.message} Stop it first.`)
        throw error
      }
    },
    async copy({ from, to, onProgress }) {
      const [source, target] = [addressOf(from, 'from'), addressOf(to, 'to')]
      assertSecret(config.secret)
      const sides = await openCopy(source, target, clock).catch(refused)
      try {
        const secrets = await secretsOf(sides.source.secrets, config.secret)
        const result = await copyStore({
          ...sides,
          onProgress,
          copySecrets: () => secrets.writeTo(sides.target.secrets),
        }).catch(refused)
        return { ...result, from: describeAddress(source), to: describeAddress(target) }
      } finally {
        await Promise.all([sides.source.close(), sides.target.close()])
      }
    },
  }
}

function refused(error: unknown): never {
  if (error instanceof CopyRefusedError) throw new CommandError(error.message)
  throw error
}
