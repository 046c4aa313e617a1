import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

@Suite struct SocketPermissionTests {
    @Test func `connecting fails at once without permission to the socket file, but waits for a missing file`() throws {
        let folder = try Folder()
        let path = try folder.write("", to: "ingest.door")
        try #require(chmod(folder.path, 0o700) == 0)
        let socket = try ToolSocket.make(keys: nil, try HostContext())
        defer { socket.close() }
        try socket.connect("ipc://\(folder.file("other.door"))")
        let error = try withoutPermission(in: folder) {
            #expect(throws: ZMQError.self) { try socket.connect("ipc://\(path)") }
        }
        #expect(error?.code == EACCES)
        #expect(error?.description.contains("no permission to connect to \(path); run as the user") == true)
    }

    /// Runs `body` without permission to open the folder. If root runs the test, this thread becomes another user
    /// meanwhile.
    private func withoutPermission<Result>(in folder: Folder, _ body: () throws -> Result) throws -> Result {
        guard geteuid() == 0 else {
            try #require(chmod(folder.path, 0) == 0)
            defer { chmod(folder.path, 0o700) }
            return try body()
        }
        // Swift's module of glibc does not declare this function.
        typealias SetUser = @convention(c) (uid_t) -> Int32
        let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
        _ = setUser(65_534)
        defer { _ = setUser(0) }
        return try body()
    }
}
