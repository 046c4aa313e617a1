import Glibc
import Testing

@testable import ZeroMQ

@Suite struct SocketThreadTests {
    struct Refusal: Error, Equatable {}

    @Test func `run returns the value that its closure returns`() async throws {
        #expect(try await SocketThread.run(name: "value") { 42 } == 42)
    }

    @Test func `run throws the error that its closure throws`() async {
        await #expect(throws: Refusal.self) {
            try await SocketThread.run(name: "error") { throw Refusal() }
        }
    }

    @Test func `the thread has its name, cut to the system's limit`() async throws {
        let name = try await SocketThread.run(name: "a-name-longer-than-15") {
            var buffer = [CChar](repeating: 0, count: 32)
            let file = open("/proc/thread-self/comm", O_RDONLY)
            defer { close(file) }
            let count = read(file, &buffer, buffer.count)
            return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        #expect(name == "a-name-longer-t\n")
    }

    @Test func `the stack is large enough for deep recursion`() async throws {
        @Sendable func depth(_ left: Int) -> Int {
            withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
                buffer[0] = UInt8(truncatingIfNeeded: left)
                return left == 0 ? 0 : depth(left - 1) + (buffer[0] == UInt8(truncatingIfNeeded: left) ? 1 : 0)
            }
        }
        #expect(try await SocketThread.run(name: "deep") { depth(1000) } == 1000)
    }

    @Test func `many socket threads at once all return their values`() async throws {
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<64 { group.addTask { try await SocketThread.run(name: "t") { number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 64 * 63 / 2)
    }
}
