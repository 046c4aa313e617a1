import EventLog
import Glibc
import PipelineKit
import PipelineRuntime
import RecordStore
import Testing
import ZeroMQ

@testable import BelfryTool

struct ToolFailureTests {
    static let cases: [(any Error, ToolStatus)] = [
        (PipelineFileError([SettingsError(file: "a.yaml", reason: "wrong")]), .configuration),
        (SettingsError(file: "a.yaml", reason: "wrong"), .configuration),
        (ZMQError(code: EADDRINUSE, operation: "bind", endpoint: "tcp://127.0.0.1:7400"), .unavailable),
        (ZMQError(code: EACCES, operation: "bind", endpoint: "tcp://127.0.0.1:1"), .inputOutput),
        (ZMQError(code: EINVAL, operation: "connect", endpoint: "nonsense"), .configuration),
        (EventLogError.alreadyOpen(name: "changes", directory: "d", process: 1), .unavailable),
        (EventLogError.full(file: "f", bytesNeeded: 1, errno: ENOSPC), .inputOutput),
        (EventLogError.damaged(file: "f", offset: 0, sequence: 1, reason: "CRC"), .badData),
        (LinkError.silent(endpoint: "ipc://x", waited: .seconds(1)), .unavailable),
        (RecordStoreError.inUse(folder: "api", process: 1), .unavailable),
        (RecordStoreError.damaged(path: "s", reason: "r"), .badData),
        (RecordStoreError.unusable(path: "s", reason: "r"), .inputOutput),
        (TransportError("cannot open"), .inputOutput),
        (TransportError("no key", isOfConfiguration: true), .configuration),
    ]

    @Test(arguments: cases.indices)
    func `each error has its exit status and message`(index: Int) throws {
        let (error, status) = ToolFailureTests.cases[index]
        let failure = try #require(ToolFailure(explaining: error))
        #expect(failure.status == status)
        #expect(failure.message == "\(error)")
    }

    @Test func `a port in use is reported with advice`() throws {
        let error = ZMQError(code: EADDRINUSE, operation: "bind", endpoint: "tcp://127.0.0.1:7400")
        let message = try #require(ToolFailure(explaining: error)).message
        #expect(message.contains("tcp://127.0.0.1:7400"))
        #expect(message.contains("stop it or choose another"))
    }

    @Test func `an unknown error is not explained`() {
        #expect(ToolFailure(explaining: CancellationError()) == nil)
    }
}
