import Foundation
import Glibc
import PipelineKit
import TestSupport
import Testing

@testable import PipelineRuntime

/// Shell scripts replace the stages here.
@Suite(.timeLimit(.minutes(5))) struct Supervisors {
    private static let first = PipelineText(path: "p.yaml", folder: "/tmp", text: "first")
    private static let next = PipelineText(path: "p.yaml", folder: "/tmp", text: "next")
    /// Writes its answer at once, before the supervisor asks whether the stage can switch to another pipeline file.
    private static let ready = "printf y >&0; exec sleep 60"
    /// Writes its answer at once, like `ready`.
    private static let refusing = "printf n >&0; exec sleep 60"
    /// Reads the first message, and ends when the next message begins.
    private static let ending = "head -c \(SupervisorMessage(first).bytes.count + 5) > /dev/null"

    @Test func `a supervisor learns which stages accept another file, refuse it or have ended`() async throws {
        #expect(try await answers(["a": Self.ready, "b": Self.ready]) == ["a": .ready, "b": .ready])
        #expect(try await answers(["a": Self.ready, "b": Self.refusing]) == ["a": .ready, "b": .refused])
        #expect(try await answers(["a": Self.ready, "b": Self.ending]) == ["a": .ready, "b": .absent])
    }

    @Test func `messages of the supervisor and answers of a stage arrive unchanged`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (supervisor, stage) = (SupervisorSocket(descriptor: ends[0]), SupervisorSocket(descriptor: ends[1]))
        for message in [
            SupervisorMessage.file(folder: "/srv/ü", text: "a: 1\nb: \"\u{0}\"\n"), .file(folder: "/", text: ""),
            .apply, .discard,
        ] {
            supervisor.send(message)
            #expect(stage.receiveMessage() == message)
        }
        stage.sendAnswer(acceptsFile: true)
        stage.sendAnswer(acceptsFile: false)
        #expect(supervisor.receiveAnswer() == true && supervisor.receiveAnswer() == false)
        close(ends[0])
        #expect(stage.receiveMessage() == nil)
        stage.sendAnswer(acceptsFile: true)
        close(ends[1])
    }

    @Test func `a process is told how the previous process ended`() async throws {
        let folder = try Folder()
        let script = #"echo "$BELFRY_ENDED" >> \#(folder.file("ends")); kill -ILL $$"#
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let supervisor = Supervisor([.init(stage: "a", command: ["/bin/sh", "-c", script])]) {
            if case .ended = $0 { end.yield() }
        }
        Cost.spend(.processes, 2)
        async let running = supervisor.run()
        for await _ in ends.prefix(2) {}
        supervisor.stop()
        #expect(try await running == 0)
        let lines = try String(contentsOfFile: folder.file("ends"), encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.prefix(2) == ["", "was ended by signal 4"])
    }

    private func answers(_ scripts: [String: String]) async throws -> [String: Supervisor.Answer] {
        let programs = scripts.map { Supervisor.Program(stage: $0, command: ["/bin/sh", "-c", $1]) }
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let supervisor = Supervisor(programs, from: Self.first) { if case .started = $0 { start.yield() } }
        async let running = supervisor.run()
        for await _ in started.prefix(scripts.count) {}
        let answers = try await supervisor.change(to: Self.next)
        supervisor.stop()
        #expect(try await running == 0)
        return answers
    }
}
