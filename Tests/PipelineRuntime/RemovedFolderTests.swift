import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// A host notices that its files were removed.
@Suite struct RemovedFolder {
    @Test(.timeLimit(.minutes(5))) func `a host whose log is removed ends with an error`() async throws {
        let folder = try Folder()
        let host = try RunningHost("gate", of: .gateAndRelay(in: folder), HostContext())
        try await host.waitUntilUp()
        try FileManager.default.removeItem(atPath: host.logDirectory)
        let error = await host.failure() as? EventLogError
        guard case .failed("find", let file, ENOENT) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(file.hasPrefix(host.logDirectory))
    }
}
