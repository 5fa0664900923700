import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { StoreOpenError } from '../open-error.ts'

/**
 * Exists in a data folder while a backup is restored into it. It is removed last; until then nobody opens the store.
 */
export const RESTORE_FOLDER = 'restore-unfinished'

class UnfinishedRestoreError extends StoreOpenError {
  override readonly name = 'UnfinishedRestoreError'
  constructor(folder: string) {
    super(
      `A restore into ${folder} is unfinished: run the same \`tapeline restore\` again, which starts over, or empty the folder.`,
    )
  }
}

export function assertRestored(folder: string): void {
  if (existsSync(join(folder, RESTORE_FOLDER))) throw new UnfinishedRestoreError(folder)
}
