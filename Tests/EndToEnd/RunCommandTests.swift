import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RunCommandTests {
    @Test func `changes go in and pushes come out, the same bytes every time`() async throws {
        let notes = try Notes()
        let input = Notes.phone() + Notes.changes(0..<200)
        let file = try notes.write(input, to: "in.ndjson")
        let fromFile = try await Program.run("belfry", ["run", notes.pipeline, file])
        let fromInput = try await Program.run("belfry", ["run", notes.pipeline], input: input)
        let fromDash = try await Program.run("belfry", ["run", notes.pipeline, "-"], input: input)
        #expect(fromFile.status == 0)
        #expect(fromFile.errors == "")
        #expect(Notes.names(fromFile.output) == (0..<200).map { "n\($0)" })
        #expect(fromInput.output == fromFile.output)
        #expect(fromDash.output == fromFile.output)
    }

    @Test func `a push names its notification, user, device, transport, token and causes`() async throws {
        let notes = try Notes()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline], input: Notes.phone() + Notes.change("n1"))
        let push = try #require(result.output.split(separator: "\n").first)
        #expect(push.hasPrefix(#"{"notificationID":""#))
        #expect(
            push.contains(
                #""user":"_alice","device":"alice-phone","transport":"apns","token":"6a0f","headers":{"apns-id":""#))
        #expect(push.hasSuffix(#""causes":[{"log":"changes","sequence":3}]}"#))
    }

    @Test func `run tells of a device's misspelt transport, even without a push`() async throws {
        let notes = try Notes()
        let result = try await Program.run("belfry", ["run", notes.pipeline], input: Notes.phone(transport: "anps"))
        #expect(result.status == 0 && result.output == "")
        #expect(
            result.errors
                == "deliver: anps: iCloud.com.example.Notes development com.example.Notes: the pipeline has no such "
                + "transport, but device alice-phone registered with it; did you mean \"apns\"?\n")
    }

    @Test func `run opens no transport and makes no data folder`() async throws {
        let notes = try Notes()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline], input: Notes.phone() + Notes.change("n1"))
        #expect(result.status == 0)
        #expect(!FileManager.default.fileExists(atPath: notes.folder + "/pushes.ndjson"))
        #expect(!FileManager.default.fileExists(atPath: notes.folder + "/data"))
    }

    @Test func `a refused line is reported with file, line, path and code, and the others are accepted`() async throws {
        let notes = try Notes()
        let file = try notes.write(
            Notes.phone() + "nope\n\n" + Notes.change("n1") + #"{"type":"record.sav"}"# + "\n" + Notes.change("n2"),
            to: "in.ndjson")
        let result = try await Program.run("belfry", ["run", notes.pipeline, file])
        #expect(result.status == 65)
        #expect(Notes.names(result.output) == ["n1", "n2"])
        let errors = result.errors.split(separator: "\n")
        #expect(errors.count == 3)
        #expect(errors.first?.hasPrefix("\(file):3: ") == true)
        #expect(errors.first?.hasSuffix("(json.unexpected_byte)") == true)
        #expect(errors.dropFirst().first?.hasPrefix("\(file):6: type: ") == true)
        #expect(errors.last == "6 lines sent, 2 refused")
    }

    @Test func `time comes from the input and cannot go back`() async throws {
        let notes = try Notes()
        let input =
            Notes.phone() + Notes.change("n1", second: 10) + Notes.change("n2", second: 5)
            + Notes.change("n3", second: 20)
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", notes.folder + "/logs"], input: input)
        #expect(result.status == 65)
        #expect(result.errors.contains("standard input:4: time: 2026-11-20T09:30:05Z is before 2026-11-20T09:30:10Z"))
        #expect(Notes.names(result.output) == ["n1", "n3"])
        let shown = try await Program.run("belfry", ["log", "show", notes.folder + "/logs/changes", "--from", "4"])
        #expect(shown.output.hasPrefix(#"{"sequence":4,"now":"2026-11-20T09:30:20Z","event":{"type":"record.save""#))
    }

    @Test func `a restart changes no push, and errors after it name the right lines`() async throws {
        let notes = try Notes()
        let restart = #"{"type": "restart"}"# + "\n"
        let lines = [Notes.phone(), Notes.change("n1"), "nope\n", Notes.change("n2"), "nope\n", Notes.change("n3")]
        let without = try await Program.run("belfry", ["run", notes.pipeline], input: lines.joined())
        let with = try await Program.run("belfry", ["run", notes.pipeline], input: lines.joined(separator: restart))
        #expect(Notes.names(with.output) == ["n1", "n2", "n3"] && with.output == without.output)
        #expect(with.status == 65 && with.errors.hasSuffix("\n7 lines sent, 2 refused\n"))
        #expect(with.errors.contains("standard input:6: ") && with.errors.contains("standard input:10: "))
    }

    private static let badges = (1...17).map {
        #"{"type":"badge.set","container":"iCloud.com.example.Notes","environment":"development","user":"_alice","#
            + #""topic":"t\#($0)","badge":\#($0)}"# + "\n"
    }.joined()

    /// A user can have separate badges for at most sixteen topics.
    @Test func `an event that a later stage sets aside is reported, with exit status 65`() async throws {
        let notes = try Notes()
        let input = Notes.phone() + Self.badges + Notes.change("n1")
        let result = try await Program.run("belfry", ["run", notes.pipeline], input: input)
        #expect(result.status == 65)
        #expect(Notes.names(result.output) == ["n1"])
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 2, "\(result.errors)")
        #expect(
            lines[0].hasPrefix("standard input:19: payload set aside event ")
                && lines[0].contains(" of notifications: "), "\(lines)")
        #expect(lines[0].contains(#""topic":"t17""#) && lines[0].contains(" (badge."), "\(lines)")
        #expect(lines[1] == "20 lines sent, 1 event set aside by later stages")
    }

    @Test func `an event that a later stage sets aside is reported with its line, despite blank and refused lines`()
        async throws
    {
        let notes = try Notes()
        let first = try notes.write("\nnope\n" + Notes.phone() + "\n" + Notes.change("n0"), to: "first.ndjson")
        let second = try notes.write(
            "\n" + Self.badges + #"{"type":"restart"}"# + "\n" + Self.badges, to: "second.ndjson")
        let result = try await Program.run("belfry", ["run", notes.pipeline, first, second])
        #expect(result.status == 65 && result.errors.contains("\(first):2: "), "\(result.errors)")
        for line in [18, 36] {
            #expect(result.errors.contains("\(second):\(line): payload set aside event "), "\(result.errors)")
        }
    }

    @Test func `--logs refuses a folder that contains logs already, and a file`() async throws {
        let notes = try Notes()
        let arguments = ["run", notes.pipeline, "--logs", notes.folder + "/logs"]
        let first = try await Program.run("belfry", arguments, input: Notes.phone() + Notes.change("n1"))
        #expect(first.status == 0)
        let listed = try await Program.run("belfry", ["log", "ls", notes.folder + "/logs"])
        #expect(listed.output.split(separator: "\n").count == 5)
        let again = try await Program.run("belfry", arguments, input: Notes.phone())
        #expect(again.status == 73)
        #expect(again.errors.contains("contains logs already"))
        let file = try await Command.run(["run", notes.pipeline, "--logs", notes.pipeline], input: Notes.phone())
        #expect(file.status == 73, "\(file)")
    }

    @Test func `commands in the place of the pipeline file are recognised`() async throws {
        let notes = try Notes()
        let input = try notes.write(Notes.phone() + Notes.change("n1"), to: "in.ndjson")
        let result = try await Command.run(["run", input, notes.pipeline])
        #expect(result.status == 78)
        #expect(
            result.errors
                == "\(input): begins with an ingest command, so it is not a pipeline file; name the pipeline file "
                + "first, then the files of commands\n")
    }

    @Test func `run ends without a message when the reader of its output has gone`() async throws {
        let notes = try Notes()
        let input = try notes.write(Notes.phone() + Notes.changes(0..<5_000), to: "in.ndjson")
        let program = try Program("belfry", ["run", notes.pipeline, input], closingOutput: true)
        let result = await program.result()
        #expect(result.status == -SIGPIPE)
        #expect(result.errors == "")
    }

    @Test func `a missing file or argument, or a folder in place of a file, is reported`() async throws {
        let notes = try Notes()
        let cases: [([String], Int32, String)] = [
            (["run", "nowhere.yaml"], 66, "nowhere.yaml: no such pipeline file"),
            (["run", notes.folder], 66, "it is a directory"),
            (["run", notes.pipeline, "nowhere.ndjson"], 66, "nowhere.ndjson: no such file"),
            (["run", notes.pipeline, notes.folder], 66, "it is a directory"),
            (["run"], 64, "Usage: belfry run"),
        ]
        for (arguments, status, words) in cases {
            let result = try await Program.run("belfry", arguments)
            #expect(result.status == status)
            #expect(result.errors.contains(words), "\(result.errors)")
            #expect(result.output == "")
        }
    }
}
