# frozen_string_literal: true

# Serves Prony's workloads with Sinatra.

require "sinatra/base"

# Each log line is written at once, in one write.
$stdout.sync = true

class App < Sinatra::Base
  ASSETS = ENV.fetch("ASSETS")
  PAGE = File.read(File.join(ASSETS, "page-100k.html"))
  SMALL_PAGE = File.read(File.join(ASSETS, "page-20k.html"))
  QUOTES = File.readlines(File.join(ASSETS, "quotes.txt"), chomp: true)

  helpers do
    def log_line
      puts "GET #{request.path_info}"
    end

    # A page as one datastar-patch-elements event.
    def patch_elements(page)
      content_type "text/event-stream"
      cache_control :no_cache
      event = +"event: datastar-patch-elements\n"
      page.each_line(chomp: true) { |line| event << "data: elements " << line << "\n" }
      event << "\n"
    end
  end

  get "/hello" do
    content_type :text
    "hello from prony\n"
  end

  get "/byte" do
    content_type :text
    "r"
  end

  get "/" do
    PAGE
  end

  get "/log" do
    log_line
    PAGE
  end

  get "/sse" do
    log_line
    patch_elements(PAGE)
  end

  get "/sse-20k" do
    log_line
    patch_elements(SMALL_PAGE)
  end

  get "/franklin-says" do
    content_type :text
    QUOTES.sample
  end
end
