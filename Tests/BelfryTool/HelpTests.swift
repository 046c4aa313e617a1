import Glibc
import PipelineRuntime
import Testing

@testable import BelfryTool

struct HelpTests {
    @Test(arguments: [["help"], ["--version"], ["log", "show", "--help"]])
    func `a help text or version that cannot be written gives exit status 74`(arguments: [String]) async throws {
        #expect(try await status(arguments, output: "/dev/full") == ToolStatus.inputOutput.rawValue)
        #expect(try await status(arguments) == ToolStatus.success.rawValue)
    }

    @Test func `help for an unknown command is a usage error`() async throws {
        for arguments in [["nix"], ["log", "nix"], ["validate", "nix"]] {
            #expect(try await status(["help"] + arguments) == ToolStatus.usage.rawValue, "\(arguments)")
        }
        for arguments in [["log", "show"], ["keys", "make"], ["help"], ["-h"], ["validate", "--help"]] {
            #expect(try await status(["help"] + arguments) == ToolStatus.success.rawValue, "\(arguments)")
        }
    }

    private func status(_ arguments: [String], output: String = "/dev/null") async throws -> Int32 {
        let (output, errors) = (open(output, O_WRONLY | O_CLOEXEC), open("/dev/null", O_WRONLY | O_CLOEXEC))
        defer { for descriptor in [output, errors] { close(descriptor) } }
        let descriptors = StandardDescriptors(output: output, error: errors)
        return try await StandardDescriptors.$current.withValue(descriptors) { try await Tool.belfry(arguments) }
    }
}
