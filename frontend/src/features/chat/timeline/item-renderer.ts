import { createContext, useContext, type ComponentType } from 'react'
import type { TimelineItem } from '@/events/fold/reduce'

export type ItemComponent = ComponentType<{ item: TimelineItem }>

/** How an item of a timeline is shown: for rows that hold a timeline of their own. */
const ItemContext = createContext<ItemComponent | null>(null)

export const ItemRendererProvider = ItemContext

export function useItemRenderer(): ItemComponent | null {
  return useContext(ItemContext)
}
