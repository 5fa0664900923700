import { view } from './api.ts'
import { useLoad } from './load.ts'
import { useSession } from './session.ts'

/**
 * An endpoint as the signed-in account sees it. While another series loads, the previous one is not shown under its
 * name.
 * @param series what the path belongs to; paths of the same series replace each other without a pause
 */
export function useView<T>(path: string | undefined, everyMs = 0, series = path) {
  const { environment } = useSession()
  const { value, error, reload } = useLoad(
    async () =>
      path === undefined ? undefined : { series, environment, ...(await view<T>(environment, path)) },
    [environment, path],
    path === undefined ? 0 : everyMs,
  )
  const isShown = value?.series === series && value?.environment === environment
  return { value: isShown ? value?.value : undefined, price: value?.price, error, reload }
}
