import { defineConfig, mergeConfig } from 'vitest/config'
import viteConfig from './vite.config'

export default mergeConfig(
  viteConfig,
  defineConfig({
    test: {
      environment: 'jsdom',
      setupFiles: ['src/test/setup.ts'],
      include: ['src/**/*.test.{ts,tsx}'],
      restoreMocks: true,
      // Vitest would leave a core free.
      maxWorkers: '100%',
      // Only a test that hangs takes as long.
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  }),
)
