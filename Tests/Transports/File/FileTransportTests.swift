import Foundation
import PipelineKit
import Synchronization
import Testing

@testable import TransportFile

@Suite struct FileTransportTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func transport(_ name: String = "pushes.ndjson", calls: FileCalls = FileCalls()) -> FileTransport {
        FileTransport(path: "\(folder.path)/\(name)", calls: calls)
    }

    @Test func `pushes are appended, one a line, and accepted without a status`() async throws {
        let transport = transport()
        try await transport.open()
        let first = await transport.deliver(pushes(#"{"a":1}"#, #"{"b":2}"#))
        #expect(first == pushes("", "").map { TransportAnswer($0.id, .accepted) })
        _ = await transport.deliver(pushes(#"{"c":3}"#))
        await transport.close()
        #expect(try folder.text(of: "pushes.ndjson") == "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")
    }

    @Test func `missing folders are made, and other users may not read the file`() async throws {
        let transport = transport("a/b/pushes.ndjson")
        try await transport.open()
        await transport.close()
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/a/b/pushes.ndjson")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test(arguments: [("a\nb\ntor", "a\nb\n"), ("a\n", "a\n"), ("tor", ""), ("", "")])
    func `an incomplete last line is cut off when the file is opened`(before: String, after: String) async throws {
        try folder.write(before, to: "pushes.ndjson")
        let transport = transport()
        try await transport.open()
        _ = await transport.deliver(pushes("new"))
        await transport.close()
        #expect(try folder.text(of: "pushes.ndjson") == after + "new\n")
    }

    @Test func `an incomplete line is cut off even if it is very long`() async throws {
        try folder.write("a\n" + String(repeating: "x", count: 200_000), to: "pushes.ndjson")
        let transport = transport()
        try await transport.open()
        await transport.close()
        #expect(try folder.text(of: "pushes.ndjson") == "a\n")
    }

    @Test func `a batch is one write, and the rest of a short write is written too`() async throws {
        let sizes = Mutex<[Int]>([])
        let transport = transport(
            calls: FileCalls(write: { descriptor, bytes, count in
                let isFirst = sizes.withLock { sizes in
                    sizes.append(count)
                    return sizes.count == 1
                }
                return write(descriptor, bytes, isFirst ? 3 : count)
            }))
        try await transport.open()
        _ = await transport.deliver(pushes("one", "two"))
        #expect(sizes.withLock { $0 } == [8, 5])
        #expect(try folder.text(of: "pushes.ndjson") == "one\ntwo\n")
    }

    @Test func `an interrupted write is repeated`() async throws {
        let interrupts = Atomic(3)
        let transport = transport(
            calls: FileCalls(write: { descriptor, bytes, count in
                guard interrupts.subtract(1, ordering: .relaxed).newValue < 0 else {
                    errno = EINTR
                    return -1
                }
                return write(descriptor, bytes, count)
            }))
        try await transport.open()
        #expect(await transport.deliver(pushes("one")).map(\.outcome) == [.accepted])
        #expect(try folder.text(of: "pushes.ndjson") == "one\n")
    }

    @Test func `a full disk fails the whole batch and leaves no half line`() async throws {
        let disk = FullDisk()
        let transport = transport(calls: disk.calls())
        try await transport.open()
        _ = await transport.deliver(pushes("one"))
        disk.room = 6
        let answers = await transport.deliver(pushes("two", "three"))
        #expect(answers.map(\.outcome) == [.failed, .failed])
        #expect(answers.map(\.reason) == ["No space left on device", "No space left on device"])
        #expect(try folder.text(of: "pushes.ndjson") == "one\n")
        disk.room = 100
        #expect(await transport.deliver(pushes("four")).map(\.outcome) == [.accepted])
        #expect(try folder.text(of: "pushes.ndjson") == "one\nfour\n")
    }

    @Test func `an incomplete line that cannot be cut off at once is cut off before the next line`() async throws {
        let disk = FullDisk()
        let transport = transport(calls: disk.calls())
        try await transport.open()
        (disk.room, disk.refusesTruncation) = (2, true)
        _ = await transport.deliver(pushes("one"))
        disk.room = 100
        #expect(await transport.deliver(pushes("two")).map(\.reason) == ["Input/output error"])
        disk.refusesTruncation = false
        #expect(await transport.deliver(pushes("three")).map(\.outcome) == [.accepted])
        #expect(try folder.text(of: "pushes.ndjson") == "three\n")
    }

    @Test func `a path that cannot be written is refused with the path and the remedy`() async throws {
        try folder.write("", to: "file")
        for name in ["", "file/pushes.ndjson"] {
            let error = await #expect(throws: TransportError.self) { try await transport(name).open() }
            #expect(error?.reason.contains("\(folder.path)/\(name): ") == true)
            #expect(error?.reason.contains("choose another path") == true)
        }
    }

    @Test func `a second writer of a file is refused`() async throws {
        let (first, second) = (transport(), transport())
        try await first.open()
        let error = await #expect(throws: TransportError.self) { try await second.open() }
        #expect(error?.reason.contains("a path of its own") == true)
        await first.close()
        try await second.open()
    }

    @Test func `pushes to /dev/full fail with the system's reason, and pushes after close fail`() async throws {
        let transport = FileTransport(path: "/dev/full", calls: FileCalls())
        try await transport.open()
        #expect(await transport.deliver(pushes("one")).map(\.reason) == ["No space left on device"])
        await transport.close()
        #expect(await transport.deliver(pushes("one")).map(\.reason) == ["the transport is not open"])
    }

    @Test func `a path is required, and is relative to the pipeline file's folder`() throws {
        let text = try SettingsReader(text: "path: out/p.ndjson", file: "/etc/belfry/p.yaml")
        #expect(try text.decode(FileTransport.Settings.self).path == "/etc/belfry/out/p.ndjson")
        #expect(throws: PipelineFileError.self) {
            try SettingsReader(text: "as: ndjson", file: "p.yaml").decode(FileTransport.Settings.self)
        }
    }
}

/// A disk with a limited number of free bytes.
private final class FullDisk: Sendable {
    private let state = Mutex((room: 1000, refusesTruncation: false))

    var room: Int {
        get { state.withLock(\.room) }
        set { state.withLock { $0.room = newValue } }
    }

    var refusesTruncation: Bool {
        get { state.withLock(\.refusesTruncation) }
        set { state.withLock { $0.refusesTruncation = newValue } }
    }

    func calls() -> FileCalls {
        FileCalls(
            write: { descriptor, bytes, count in
                let taken = min(self.room, count)
                guard taken > 0 else {
                    errno = ENOSPC
                    return -1
                }
                self.room -= taken
                return write(descriptor, bytes, taken)
            },
            truncate: { descriptor, length in
                guard self.refusesTruncation else { return ftruncate(descriptor, length) }
                errno = EIO
                return -1
            })
    }
}
